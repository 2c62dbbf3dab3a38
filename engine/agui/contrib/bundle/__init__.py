"""Static files of production: the page's modules joined, and all of the engine's minified."""
