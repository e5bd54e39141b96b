"""Parts of `spark/experiment.py`."""
