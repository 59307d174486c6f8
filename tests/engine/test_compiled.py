"""Kernels as machine code."""

from latentclass.engine import _compiled


def test_without_a_folder_for_machine_code_it_is_made_in_every_session(monkeypatch):
    compile_ = _compiled.numba.njit

    def njit(*functions, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function")
        return compile_(*functions, **options)

    monkeypatch.setattr(_compiled.numba, "njit", njit)
    assert _compiled.compiled()(lambda x: 2 * x)(3) == 6
