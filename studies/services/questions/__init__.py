"""Questions of the kind “will it fit?”: read, asked, and answered as a document. Nothing is recorded."""
