// The page of a study of figures has tables only.
"use strict";
