"""Programs handed out: to processes of this machine, to Ray, or to Slurm."""
