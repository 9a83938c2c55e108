"""Where runs go: this process, worker processes, Slurm, Ray.

A *run* is one `RunSpec` and its `Record`. A *unit* is the runs of one seed whose tasks share an
embedding; it is what a worker gets. A *plan* is what experiments amount to: the units that are to
be done, and the runs that are recorded already. A *sweep* is the units that a launcher gets. A
*job* is what the launcher makes of some of them: a Slurm job, or a process.
"""
