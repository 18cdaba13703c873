"""The whole pipeline: `pipeline` reads as a list of phases; `checked` is what `check` needs."""
