"""Slow, obvious twins of the logistic engine: one row, one column at a time, in plain loops.

In the paper's letters, with its errors put right: lambda is negative, X (here z) are the latent
variables, T (here t) the attributes. A binary cell is 0, 1 or None, a continuous one a number or
None. A column is a dictionary: w, b, and theta if it is continuous.
"""

import math

import numpy as np


def lam(xi):
    """lambda(xi), the limit at 0."""
    return -math.tanh(xi / 2) / (4 * xi) if xi > 1e-8 else -0.125


def log_sigmoid(a):
    return -math.log1p(math.exp(-a)) if a > 0 else a - math.log1p(math.exp(a))


def posterior(columns, mu, gamma, cells, xi):
    """Mean and covariance of z given the cells: equations (6) and (7), and Gaussian columns."""
    precision = np.diag(1.0 / gamma)
    pull = mu / gamma
    for column, cell, x in zip(columns, cells, xi, strict=True):
        if cell is None:
            continue
        w, b = column["w"], column["b"]
        if "theta" in column:
            precision = precision + np.outer(w, w) / column["theta"]
            pull = pull + (cell - b) / column["theta"] * w
        else:
            precision = precision - 2 * lam(x) * np.outer(w, w)
            pull = pull + (cell - 0.5 + 2 * lam(x) * b) * w
    covariance = np.linalg.inv(precision)
    return covariance @ pull, covariance


def log_bound(columns, mu, gamma, cells, xi):
    """The bound on log p(cells): equation (8), and Gaussian columns."""
    mean, covariance = posterior(columns, mu, gamma, cells, xi)
    total = -0.5 * mu @ (mu / gamma) + 0.5 * mean @ np.linalg.solve(covariance, mean)
    total += 0.5 * (np.linalg.slogdet(covariance)[1] - np.log(gamma).sum())
    for column, cell, x in zip(columns, cells, xi, strict=True):
        if cell is None:
            continue
        b = column["b"]
        if "theta" in column:
            theta = column["theta"]
            total -= 0.5 * math.log(2 * math.pi * theta) + 0.5 * (cell - b) ** 2 / theta
        else:
            total += log_sigmoid(x) - x / 2 + lam(x) * (b**2 - x**2) + 0.5 * (2 * cell - 1) * b
    return total


def moved_xi(columns, mean, covariance):
    """Equation (9), put right."""
    out = []
    for column in columns:
        w, b = column["w"], column["b"]
        square = w @ (covariance + np.outer(mean, mean)) @ w + 2 * b * w @ mean + b**2
        out.append(math.sqrt(max(square, 1e-6)))
    return out


def log_cells(columns, cells, z):
    """log p(cells | z)."""
    total = 0.0
    for column, cell in zip(columns, cells, strict=True):
        if cell is None:
            continue
        a = float(column["w"] @ z) + column["b"]
        if "theta" in column:
            theta = column["theta"]
            total -= 0.5 * math.log(2 * math.pi * theta) + 0.5 * (cell - a) ** 2 / theta
        else:
            total += log_sigmoid((2 * cell - 1) * a)
    return total


def log_integral(columns, mu, gamma, cells, *, n_nodes=400, reach=9.0):
    """log p(cells) by summing over a fine grid; one or two latent variables."""
    q = len(mu)
    steps = np.linspace(-reach, reach, n_nodes)
    log_weights = -0.5 * steps**2 - 0.5 * math.log(2 * math.pi) + math.log(steps[1] - steps[0])
    terms = []
    for place in np.ndindex(*(n_nodes,) * q):
        z = mu + np.sqrt(gamma) * steps[list(place)]
        terms.append(log_weights[list(place)].sum() + log_cells(columns, cells, z))
    terms = np.array(terms)
    return terms.max() + math.log(np.exp(terms - terms.max()).sum())


def expected_log(columns, mu, gamma, cells, mean, covariance, xi):
    """E log of prior and cells' bounds at xi under a posterior of z, plus its entropy."""
    total = 0.5 * np.linalg.slogdet(2 * math.pi * math.e * covariance)[1]
    far = (mean - mu) ** 2 + np.diag(covariance)
    total -= 0.5 * (np.log(2 * math.pi * gamma) + far / gamma).sum()
    for column, cell, x in zip(columns, cells, xi, strict=True):
        if cell is None:
            continue
        w = column["w"]
        a, spread = w @ mean + column["b"], w @ covariance @ w
        if "theta" in column:
            theta = column["theta"]
            total -= 0.5 * (math.log(2 * math.pi * theta) + ((cell - a) ** 2 + spread) / theta)
        else:
            total += log_sigmoid(x) - x / 2 + lam(x) * (a**2 + spread - x**2) + (cell - 0.5) * a
    return total


def em_step(rows, y, weight, model, xi, prior):
    """One iteration: objective at the model and the next xi, the next model, and that xi.

    `model` holds log_weight[y][m], columns[m], mu[y], gamma[y]; `xi` is indexed [row][m]; y is None
    without a label. `prior` holds loading, alpha (of two-valued columns), noise, noise_level,
    latent. Noise is tied.
    """
    n_classes, n_components = len(model["mu"]), len(model["columns"])
    q, n = len(model["mu"][0]), len(rows[0])
    objective = log_prior(model, prior)
    component_weight = np.zeros((n_classes, n_components))
    first, second = np.zeros((n_classes, q)), np.zeros((n_classes, q))
    gram = np.zeros((n_components, n, q + 1, q + 1))
    cross = np.zeros((n_components, n, q + 1))
    square, seen = np.zeros(n), np.zeros(n)
    moved = [[None] * n_components for _ in rows]
    for i, cells in enumerate(rows):
        classes = range(n_classes) if y[i] is None else [y[i]]
        joint, found = {}, {}
        for k in classes:
            for m in range(n_components):
                where = (model["columns"][m], model["mu"][k], model["gamma"][k], cells)
                found[k, m] = posterior(*where, xi[i][m])
                joint[k, m] = model["log_weight"][k][m] + log_bound(*where, xi[i][m])
        top = max(joint.values())
        log_total = top + math.log(sum(math.exp(value - top) for value in joint.values()))
        share = {place: math.exp(value - log_total) for place, value in joint.items()}
        for m in range(n_components):
            squares = np.zeros(n)
            for k in classes:
                own = share[k, m] / sum(share[c, m] for c in classes)
                squares += own * np.square(moved_xi(model["columns"][m], *found[k, m]))
            moved[i][m] = np.sqrt(squares).tolist()
        for (k, m), part in share.items():
            r = weight[i] * part
            mean, covariance = found[k, m]
            new = moved[i][m]
            prior_of_z = model["mu"][k], model["gamma"][k]
            height = expected_log(model["columns"][m], *prior_of_z, cells, mean, covariance, new)
            objective += r * (model["log_weight"][k][m] + height - math.log(part))
            longer = np.concatenate([[1.0], mean])
            moments = np.outer(longer, longer)
            moments[1:, 1:] += covariance
            component_weight[k, m] += r
            first[k] += r * mean
            second[k] += r * (np.diag(covariance) + mean**2)
            for j, cell in enumerate(cells):
                if cell is None:
                    continue
                if "theta" in model["columns"][m][j]:
                    gram[m, j] += r * moments
                    cross[m, j] += r * cell * longer
                    square[j] += r * cell**2
                    seen[j] += r
                else:
                    gram[m, j] -= 2 * r * lam(new[j]) * moments
                    cross[m, j] += r * (cell - 0.5) * longer
    next_model = {
        "log_weight": np.log(component_weight / component_weight.sum()),
        "mu": first / component_weight.sum(axis=1)[:, None],
        "columns": [],
    }
    by_class = component_weight.sum(axis=1)[:, None]
    next_model["gamma"] = second / by_class - next_model["mu"] ** 2
    next_model["gamma"] = (next_model["gamma"] * by_class + prior["latent"]) / (
        by_class + prior["latent"]
    )
    theta = np.zeros(n)
    for m in range(n_components):
        columns = []
        for j in range(n):
            old = model["columns"][m][j]
            system = gram[m, j] + prior["loading"] * np.diag([0.0] + [1.0] * q)
            if "theta" not in old:
                system[0, 0] -= 2 * 2 * prior["alpha"] * lam(abs(old["b"]))
            solved = np.linalg.solve(system, cross[m, j])
            columns.append({"w": solved[1:], "b": solved[0]})
            if "theta" in old:
                theta[j] += (
                    -2 * solved @ cross[m, j]
                    + solved @ gram[m, j] @ solved
                    + prior["loading"] * solved[1:] @ solved[1:]
                )
        next_model["columns"].append(columns)
    theta = (theta + square + prior["noise"] * prior["noise_level"]) / (seen + prior["noise"])
    for m in range(n_components):
        for j in range(n):
            if "theta" in model["columns"][m][j]:
                next_model["columns"][m][j]["theta"] = theta[j]
    return objective, next_model, moved


def log_prior(model, prior):
    total = 0.0
    thetas = [column["theta"] for column in model["columns"][0] if "theta" in column]
    for theta in thetas:
        total -= 0.5 * prior["noise"] * (math.log(theta) + prior["noise_level"] / theta)
    for columns in model["columns"]:
        for column in columns:
            size = column["w"] @ column["w"]
            if "theta" in column:
                total -= 0.5 * prior["loading"] * size / column["theta"]
            else:
                total -= 0.5 * prior["loading"] * size
                b = column["b"]
                total += prior["alpha"] * (log_sigmoid(b) + log_sigmoid(-b))
    gamma = np.asarray(model["gamma"])
    total -= 0.5 * prior["latent"] * (np.log(gamma) + 1 / gamma).sum()
    return total
