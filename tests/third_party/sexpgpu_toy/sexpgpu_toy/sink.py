"""One line a step event. A sink ignores kinds that it does not know."""


class Lines:
    def __init__(self, options):
        self.file = open(options["path"], "a", encoding="utf-8")  # noqa: SIM115

    def event(self, event):
        if event["event"] == "step":
            self.file.write(f"{event['step']} {event['metrics']}\n")

    def close(self):
        self.file.close()
