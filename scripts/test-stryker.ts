import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'

// npm run test:stryker -- <folder> [file…]: changes the code of a folder, one small fault at a time, in a copy under
// .sluice/stryker, and runs the tests beside the code. Prints each fault that no test notices. Some of these are none,
// or only make the code slower. It takes about a minute for 100 faults. For example:
// npm run test:stryker -- packages/engine/csv/src scan.ts cells.ts
const [folder, ...files] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: npm run test:stryker -- <folder> [file…]')

// Installed here alone, until the next `npm ci`: StrykerJS would be a quarter of all packages that it installs.
const packages = ['@stryker-mutator/core@10.1.1', '@stryker-mutator/vitest-runner@10.1.1']
execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', ...packages], { stdio: 'inherit' })

const mutated = files.length === 0 ? ['*.ts'] : files
const config = '.sluice/stryker.json'
mkdirSync('.sluice', { recursive: true })
writeFileSync(
  config,
  JSON.stringify({
    testRunner: 'vitest',
    vitest: { configFile: 'scripts/tests/stryker.ts', dir: folder, related: false },
    mutate: [...mutated.map((file) => `${folder}/**/${file}`), '!**/*.test.ts', '!**/testing/**'],
    concurrency: 2,
    // A machine with other work must not look like a loop without end.
    timeoutMS: 10_000,
    // Stryker reads this file with functions that TypeScript 7 no longer has.
    tsconfigFile: 'none',
    tempDirName: '.sluice/stryker',
    reporters: ['clear-text', 'progress'],
    clearTextReporter: { logTests: false, reportTests: false },
  }),
)
execFileSync('node_modules/.bin/stryker', ['run', config], { stdio: 'inherit' })
