"""Reports for people, programs and build servers; one module for each form."""
