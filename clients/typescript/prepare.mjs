// Builds `dist` when the package is installed from its folder, where it has none. npm installs a folder without its development
// dependencies, so the compiler may be missing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));

function compiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  } catch {
    return undefined;
  }
}

const tsc = compiler();
if (tsc !== undefined) {
  const built = spawnSync(process.execPath, [tsc, "--project", "tsconfig.json"], { cwd: folder, stdio: "inherit" });
  if (built.error) throw built.error;
  process.exitCode = built.status ?? 1;
} else if (!existsSync(join(folder, "dist/index.js"))) {
  console.error(`windlass: ${folder} is not built, and the TypeScript compiler is not installed there.`);
  console.error(`Run \`npm install\` in ${folder}, which builds it, and install it again.`);
  process.exitCode = 1;
}
