"""The README's examples, run as they stand there."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from .support import ServerTest, soon

README = Path(__file__).parent.parent / "README.md"


class ReadmeTest(ServerTest):
    async def test_the_examples_print_what_they_say(self) -> None:
        text = README.read_text()
        examples = re.findall(r"```python\n(.*?)```\n(?:\n[^\n]+\n)?\n```text\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(examples), text.count("```python"), "an example without its output")
        async with self.server(f"unix://{self.folder}/windlass.sock"):
            for example, expected in examples:
                self.assertEqual(await soon(self.run_example(example)), expected)

    async def run_example(self, example: str) -> str:
        path = os.environ["PATH"]
        windlass = os.path.dirname(os.path.abspath(os.environ["WINDLASS"]))
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", example,
            stdout=asyncio.subprocess.PIPE, cwd=self.folder,
            env={**self.environment, "PATH": f"{windlass}:{path}", "XDG_RUNTIME_DIR": self.folder},
        )  # fmt: skip
        printed, _ = await child.communicate()
        self.assertEqual(child.returncode, 0)
        return printed.decode()
