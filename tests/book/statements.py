"""Where the book states each hypothesis of a claim, and which formulas a claim shares with its theorem in the text.

One place says how the words of a `Theorem` in Python and those of its directive in a chapter answer to each other.
"""

# Label -> hypothesis -> its words in the directive; "def-...: words" where a definition of the chapter has them.
HYPOTHESES = {
    "thm-satisfiability": {
        "the world is finite": "In every finite world",
        "a demand puts a true caption above a false one": (
            "def-axiom: It demands of each such pair, at each image where one is true and one false, that the true one "
            "score higher"
        ),
        "the dimension is n_images + n_captions or more": r"in dimension $N = n_\text{images} + n_\text{captions}$",
    },
    "prop-signed-encoder": {
        "the world is finite": "def-axiom: A *finite world* has finitely many images",
        "the dimension is n_images or more": r"In dimension $n = n_\text{images}$",
    },
    "prop-circle": {"at no image do the demands go in a circle": "at no image they go in a circle of classes"},
    "prop-best-image": {
        "0 is outside the convex hull of the differences": "suppose that $0$ is not in their convex hull"
    },
    "prop-margin-bound": {"image and text vectors are unit": "page: unit vectors"},
    "prop-ceiling": {"the image vector is unit": "For every unit vector $i(I_s)$"},
    "thm-bag-of-words-collapse": {
        "t depends on the word multiset only": "If $t(c)$ depends only on the multiset of words of $c$"
    },
    "prop-position-blind": {
        "no position embeddings": "If no position enters",
        "no causal mask": "layers of unmasked self-attention",
        "pooling ignores order": "pools the rows by a function that ignores their order",
    },
    "thm-tensor-gauge": {"the factors are unit": "determine the unit factors"},
    "thm-coverage-decides": {
        "the factors are unit": "for unit factors",
        "no two factors agree up to sign": r"\lvert \alpha \rvert, \lvert \beta \rvert < 1",
        "all four words were seen": "Let a swap question on tensor codes be covered",
    },
    "prop-one-of-each": {
        "the factors are unit": "Let the two objects of a swap question have unit factors",
        "no two factors agree up to sign": "that do not agree up to sign, and likewise its two attributes",
        "an object and an attribute of the question were seen": (
            "if at least one of its objects and at least one of its attributes were seen"
        ),
    },
    "thm-hadamard-undecidable": {
        "the factors are independent uniform signs": "For sign codes with independent uniform factors",
        "none of the four pairs lies in one component": "suppose that none of the four pairs",
    },
    "thm-hadamard-decidable": {
        "the factors are independent uniform signs": "For sign codes with independent uniform factors",
        "one of the four pairs lies in one component": (
            "suppose that at least one of the four pairs lies in one component"
        ),
    },
    "lem-pooling-step": {
        "roles are isometries": "let the roles be isometries",
        "codes of children are unit": "from $p$ to $p'$, both of them unit",
        "neither sum is 0": "If neither is $0$",
    },
    "thm-depth-law": {
        "roles are isometries": "def-tree-code: which are linear isometries",
        "roles of one node have mutually orthogonal ranges": (
            "Let the roles of each node have mutually orthogonal ranges"
        ),
    },
    "thm-finite-depth-law": {
        "roles are isometries": "def-tree-code: which are linear isometries",
        "the spans of bound siblings, each before and after the edit, have cosines of at most μ": (
            "let $V_j$ be the span of the codes of child $j$ before and after the edit"
        ),
        "(b-1) μ < 1/2": r"Put $q = (b-1)\mu$. If $q < \frac12$",
        "the swapped leaves differ": r"Let $x \ne y$",
    },
    "cor-resolvable-depth": {
        "roles of one node have mutually orthogonal ranges": "Let the law hold",
        "the swapped leaves are orthogonal": "with orthogonal leaves",
    },
    "prop-role-aliasing": {
        "the same roles serve every level": r"Let the same isometries $R_1, \dots, R_b$ serve every level",
        "roles commute": "let them commute with one another",
        "sums are divided by the constant sqrt(b)": r"let each sum be divided by the constant $\sqrt b$",
    },
    "thm-pooled-margins": {
        "atom codes are orthonormal": "Let the atom codes be orthonormal",
        "the image code is the caption code": "the code tied",
    },
    "prop-all-swaps": {
        "atom codes are orthonormal": "Let the atom codes be orthonormal",
        "the image must have the margin over every swap": "the smallest margin over all swaps",
    },
    "prop-additive-cannot-bind": {"x_oa = u(o) + v(a)": "Let $x_{oa} = u(o) + v(a)$"},
    "prop-leakage-price": {
        "inner products of atoms depend on the kind of match alone, and both kinds of partial match leak the same": (
            r"depending on nothing but the kind of match, let both kinds of partial match leak $\ell$"
        ),
        "the image code is the caption code": "let the code be tied",
        "A and A + 2kr + g are positive": "let $A > 0$ and $A + 2kr + g > 0$",
    },
    "thm-frontier": {
        "the anchor is unit": r"For unit vectors $i(I_s)$, $t(c)$, $t(\sigma c)$ and $\bar t$",
        "the captions are unit": r"For unit vectors $i(I_s)$, $t(c)$, $t(\sigma c)$ and $\bar t$",
        "the image is unit": "For unit vectors $i(I_s)$",
    },
    "thm-sharp-frontier": {
        "the anchor is unit": r"For unit vectors $t(c)$, $t(\sigma c)$ and $\bar t$",
        "the captions are unit": r"For unit vectors $t(c)$, $t(\sigma c)$",
    },
    "prop-midpoint-anchor": {
        "the anchor is unit": "Over all unit anchors",
        "the captions are unit": r"Let $t(c)$ and $t(\sigma c)$ be unit",
        "the captions are neither equal nor antipodal": "neither equal nor antipodal",
    },
    "thm-radon": {
        "there are N + 2 objects or more": r"if $M \ge N + 2$ objects",
        "the demand is made for every size up to k": r"satisfy $(K_1), \dots, (K_k)$",
    },
    "prop-half-shattered": {
        "every split is asked of some image": (
            "Suppose that of every division of $N + 2$ objects into two non-empty parts, at least one part is exactly "
            "what some image shows"
        )
    },
    "prop-circuits": {"the points are in general position": "Let the points be in general position"},
    "prop-cover": {"the points are in general position": "Of $M$ points in general position"},
    "thm-moment-curve-tight": {
        "k <= N/2": r"satisfy $(K_1), \dots, (K_{N/2})$",
        "the points are distinct": "any $M$ different points",
    },
    "prop-coherent-codes": {
        "inner products of different codes are at most μ in absolute value": (
            r"with $\lvert \langle x_j, x_l \rangle \rvert \le \mu$ for $j \ne l$"
        ),
        "(2k-1) μ < 1": r"$(2k - 1)\mu < 1$",
    },
    "thm-coupling-antisymmetric": {
        "ε is positive": r"Let $\varepsilon > 0$",
        "each candidate holds half of the mass, whatever its length": "let each candidate hold half of the mass",
        "one function reads the energies of both candidates": "let one function read the energies of both",
    },
    "prop-coupling-length": {
        "ε is positive": r"Let $\varepsilon > 0$",
        "each candidate holds half of the mass, whatever its length": "let each candidate hold half of the mass",
    },
    "prop-coupling-same-words": {
        "ε is positive": r"Let $\varepsilon > 0$",
        "the tokens of b are those of a in another order": "let the tokens of $b$ be those of $a$ in another order",
    },
    "prop-coupling-two-things": {
        "ε is positive": r"def-balanced-coupling: For $\varepsilon > 0$",
        "the tokens of b are those of a in another order": 'candidate $a$ be "red car blue dog" and $b$ "blue car red',
        "the image is these two places, each one patch, at one depth": (
            "the image is these two places: one patch each, at one depth"
        ),
        "a colour stands next to its thing": 'let candidate $a$ be "red car blue dog"',
    },
    "prop-coupling-limits": {
        "ε is positive": r"Let $\varepsilon > 0$",
        "tokens and patches both keep their masses": "def-balanced-coupling: with row sums $p$ and column sums $q$",
    },
    "thm-product-represents": {"the coordinates are those of the binding": "in given coordinates"},
    "prop-blind-fit": {
        "a scene and its swap get the same prediction": "Let a model give a scene and its swap the same prediction",
        "every scene is judged together with its swap": "Judged on scenes that come with their swaps",
    },
    "thm-path-identifies": {
        "every object's code is u_a ∘ v_b": r"Let every object's code be $u_a \circ v_b$",
        "no coordinate of a factor is 0": "with no coordinate zero",
        "a path of seen objects joins the two concepts": "If a path of seen objects",
    },
    "prop-hashed-unseen": {
        "an object's code is independent of the codes of all others": "Let the codes of objects be independent",
        "a code and its negative are equally likely": "let a code and its negative be equally likely",
        "no object of the scene or of its swap was seen": "If the four objects of a scene and its swap are unseen",
        "the objects of the scene and of its swap have codes of one law": "are unseen and have one law",
    },
    "prop-edit-sign": {
        "the query is flat: one operator on concepts, each affirmed or negated": "Let the query be flat",
        "no concept is negated": "let no concept be negated",
    },
    "prop-single-not": {"the query has one concept": "the negation of one concept"},
    "thm-soft-replaced": {
        "the query is flat: one operator on concepts, each affirmed or negated": "Let the query be flat",
        "the plain score is the soft evidence, μ + logit(p_soft)/β": "let the plain score be the soft evidence",
    },
    "prop-slopes": {
        "the query is flat: one operator on concepts, each affirmed or negated": "Let the query be flat",
        "the plain score is held while a concept score moves": "let the plain score be held while $s_i$ moves",
    },
    "thm-de-morgan": {
        "the OR is the dual of the AND, M_or(q) = 1 - M_and(1 - q)": (
            r"the OR is the *dual* of the AND, $M_\text{or}(q) = 1 - M_\text{and}(1 - q)$"
        )
    },
    "thm-words-are-blind": {
        "every concept is a single word": "Let every concept be a single word",
        "the logic of a caption depends on its set of words alone": (
            "let the logic of a caption depend on its set of words alone"
        ),
    },
    "thm-throttle-average": {
        "swapping twice gives the caption back": r"Let swapping be an involution, $\sigma \sigma c = c$",
        "the loss is logistic": r"def-throttle: Let $\ell(x) = \log(1 + e^{-x})$",
    },
    "thm-throttle-reversal": {
        "swapping twice gives the caption back": "Under the same hypotheses",
        "the loss is logistic": "the logistic loss",
    },
    "prop-unmatched-offsets": {
        "a caption beats unrelated ones by g": r"If $S(I, c) - S(I, c') \ge g$",
        "its swap beats the swaps of unrelated ones by g": r"$S(I, \sigma c) - S(I, \sigma c') \ge g$",
    },
    "prop-blind-rival": {
        "other negatives are exchangeable with their swaps": (
            r"thm-infonce-throttle: $(x_1, \dots, x_r)$ and $(\sigma x_1, \dots, \sigma x_r)$ have the same law"
        ),
        "whether the swap is held is independent of image and caption": (
            "thm-infonce-throttle: $H$ is independent of $(I, c)$"
        ),
        "swapping twice gives the caption back": "thm-infonce-throttle: swapping is an involution",
        "the image determines its caption": "the image determine its caption",
        "no other negative is the caption or its swap": r"no $x_j$ be $c$ or $\sigma c$",
    },
    "thm-infonce-throttle": {
        "other negatives are exchangeable with their swaps": (
            r"$(x_1, \dots, x_r)$ and $(\sigma x_1, \dots, \sigma x_r)$ have the same law"
        ),
        "whether the swap is held is independent of image and caption": "$H$ is independent of $(I, c)$",
        "swapping twice gives the caption back": "swapping is an involution",
    },
    "prop-implicit-rate": {
        "captions of a batch are drawn independently": "Let the $B$ captions of a batch be drawn independently"
    },
}

# Label -> formulas of the claim's statement, which the directive has too, up to the way it is written; a pair where it
# turns them round.
FORMULAS = {
    "prop-signed-encoder": ("2/sqrt(n)", "n = n_images"),
    "prop-ceiling": ("|m(s)| ≤ d(s)", "(t(c) - t(σc)) / d(s)"),
    "thm-bag-of-words-collapse": ("m(s) = 0",),
    "thm-coverage-decides": ("2(1 + αβ - |α + β|)",),
    "thm-hadamard-decidable": (("1 - (3/4)^N / 2", r"1 - \tfrac12 \bigl( \tfrac34 \bigr)^N"),),
    "lem-pooling-step": (("n n' m = m_child - (n - n')²/2", r"n\, n'\, m = m_{\text{child}} - \tfrac12 (n - n')^2"),),
    "thm-depth-law": ("2 b^-D (1 - <x, y>)",),
    "thm-finite-depth-law": ("((1 - 2q)/(1 - q²))^D", "(1+q)/(1-q)^D", "2 b^-D (1 - <x, y>)"),
    "cor-resolvable-depth": ("10/sqrt(N)", "log_b(sqrt(N)/5)", "D ≥ 1"),
    "prop-role-aliasing": ("C(b+D-1, D)", "C(b, i)", "min(b, D)"),
    "thm-pooled-margins": ("2/k", "1/k", "1 - sqrt(k/(k+1))", "k ≥ 2"),
    "prop-all-swaps": ("(2/k) sqrt(k/(k-1))", "k ≥ 2"),
    "prop-leakage-price": (
        "k(g + (k-1)r)",
        "2(g - 2ℓ + r)/A",
        "(g - ℓ)/A",
        "1 - (A + kr)/sqrt(A (A + 2kr + g))",
        "ℓ ≤ (g + r)/2",
    ),
    "thm-frontier": ("m(s) ≤ d(s) ≤ 2 sqrt(2 δ)",),
    "thm-sharp-frontier": (("d(s) ≤ 2 sqrt(δ (2 - δ))", r"d(s) \le \begin{cases} 2\sqrt{\delta(2-\delta)}"),),
    "prop-midpoint-anchor": ("1 - sqrt(1 - d²/4)",),
    "thm-radon": ("M >= N + 2", "floor(N/2)"),
    "prop-half-shattered": ("N + 2", "N + 1"),
    "prop-cover": ("C(M-1, i)",),
    "prop-coherent-codes": ("(1 - (2k-1) μ) / sqrt(k (1 + (k-1) μ))", "μ = 1/(4k)", "1/sqrt(5k)", "64 k² log M"),
    "prop-coupling-length": (("n ≥ 2", r"$n_a \ge 2$"), ("(n - 1)/(rn - 1)", "$(n_a - 1)/(r n_a - 1)$")),
    "prop-coupling-two-things": ("(D²/3) tanh²(κ/(2ε))",),
    "prop-coupling-limits": ("Δ/(2ε)", "ε log min(n, m)"),
    "prop-single-not": ("2 (s_1 - μ)",),
    "thm-soft-replaced": ("μ + logit(p_logical)/β",),
    "prop-slopes": ("sqrt(M A (1 - A)/(1 - M)) - p_i", "v_i (1 - p_i)/(1 - A)", "(1 - q_i)/(1 - M)"),
    "thm-de-morgan": ("(-∞, ∞), (1, 1) and (∞, -∞)",),
    "prop-unmatched-offsets": ("≤ ℓ(g)",),
    "prop-blind-rival": (
        "π E[log 2 - ℓ(M)]",
        ("log max(a, (a + b)/2)", r"\log \max\bigl(a, \tfrac12 (a + b)\bigr)"),
    ),
    "thm-infonce-throttle": ("E[log 2 - ℓ(M)]", "E[Z'/a]", "2 E[Z'/(a+b)]", "E[Z'/b]", "π E M"),
    "prop-implicit-rate": ("1 - (1 - p(σc))^(B-1)", "C(B-1, 2)"),
}

# Conditions of the text that are no hypothesis of the claim: they name things, or the claim's statement has them.
NAMING = {
    "prop-circle": ("Let captions be grouped in classes that must share a vector",),
    "prop-best-image": ("Let $d_1, \\dots, d_r$ be the differences",),
    "prop-margin-bound": ("Give each demand",),
    "prop-ceiling": ("If $d(s) > 0$, equality holds",),
    "prop-one-of-each": ("Let $i^{+}$ be the pseudo-inverse", "If neither attribute was seen"),
    "thm-finite-depth-law": ("Let $\\mu$ be such that", "If $q < \\frac12$ then"),
    "prop-role-aliasing": ("If the roles are signs",),
    "prop-additive-cannot-bind": ("Let $x$ be any code whatever",),
    "lem-pooling-step": ("Let $n$ and $n'$ be the norms",),
    "thm-moment-curve-tight": ("Let $N$ be even",),
    "prop-coupling-two-things": ("Let every word cost $\\kappa$ less",),
    "thm-path-identifies": ("If no path does",),
    "thm-infonce-throttle": ("Let $H$ be the event", "Let the score have finite expectations", "Suppose that"),
    "prop-half-shattered": ("Suppose that of every division of $N + 1$ objects",),
}
