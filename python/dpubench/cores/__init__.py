"""What the studies of processors share: descriptions of processors, traces of kernels, sweeps of simulations and what samples say."""
