"""Where the variables of a tree stand, by hand."""

from latentclass.plots._tree_layout import TreeLayout, tree_heights

CHILDREN = {"top": ["left", "c"], "left": ["a", "b"], "other": ["d"]}


def test_heights_count_the_steps_down_to_the_deepest_column():
    expected = {"top": 2, "left": 1, "a": 0, "b": 0, "c": 0, "other": 1, "d": 0}
    assert tree_heights(["top", "other"], CHILDREN) == expected


def test_columns_stand_side_by_side_and_parents_above_their_middle():
    layout = TreeLayout(["top", "other"], CHILDREN)
    assert layout.columns == ["a", "b", "c", "d"]
    assert layout.n_levels == 2
    assert [layout.places[name] for name in "abcd"] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert layout.places["left"] == (0.5, 1)
    assert layout.places["top"] == (1.25, 2)  # between `left` and `c`
    assert layout.places["other"] == (3, 1)


def test_long_names_make_the_figure_higher_and_narrower():
    short = TreeLayout(list("abcde"), {})
    long = TreeLayout([20 * name for name in "abcde"], {})
    assert short.figure_size(2.0) == (4.75, 2.2)
    assert long.figure_size(2.0) == (4.0, 3.5)


def test_no_variable_at_all():
    empty = TreeLayout([], {})
    assert (empty.columns, empty.places, empty.n_levels) == ([], {}, 0)
    assert empty.x_limits() == (-0.7, 0.7)
