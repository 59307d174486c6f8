"""The pictures of the documentation, one module per page.

Every public function of a module draws one picture and returns its figure. The names of module and
function make the name of the file: `lcm.graph` is `docs/pictures/lcm-graph.png`. `docs/draw.py`
draws them all, or those you name.
"""
