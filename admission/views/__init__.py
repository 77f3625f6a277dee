"""Pages. They read a request, call ``admission.services`` or the estimator, and fill a template."""
