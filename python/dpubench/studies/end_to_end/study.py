from dpubench.studies.end_to_end.plan import Plan


class S:
    name = "end-to-end"
    question = "?"
    plan_model = Plan
    run_options = frozenset()


STUDY = S()
