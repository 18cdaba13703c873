"""The runtime: a compiled job to a run folder. The loop is fixed and the same for every device.

How a run is made of a Job (runtime.job) and a device:

    m = machine.machine(device, facts, threads=2, plugins={})
    folder, checkpoint = attempt.attempt(job, root=runs, machine=m, loaders=loaders,
                                         resume=None, name=None, listener=show)
    session = device.open(job.units, job.persistent, threads=2)
    with signals.Signals() as stop:
        summary = run.run(job, session, folder, loaders=loaders, resume=checkpoint, signals=stop)

`resume`: None (`begin.begin`), "auto", "latest", "best", a step, or RUN[@STEP] (`begin.reopen`).
`loaders`: name -> data.loader.Loader. Between `begin` and `run` the state is compiling, with a
heartbeat: `folder.events.write("compile", 0, graph=..., duration_s=..., kernels=..., cached=...)`
tells of each program, `run.interrupted` and `run.failed` end a run that never began.
Readers: `runs.find`, `runs.listing`, `status.read`, `status.lost`, `events.read`, `events.current`.
"""
