project = "Notes on memory"
extensions = ["myst_parser"]
# `_static/embed` is the folder `embed` of the published page.
html_static_path = ["_static"]
html_js_files = [("embed/buffer-scope.js", {"type": "module"})]
