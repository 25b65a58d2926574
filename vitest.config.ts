import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/tests/longest-first.ts'

// The name of a file decides its project. Unit tests stand beside the code and need nothing. System tests run on one
// Postgres and one storage that their global set-up starts, each in a database of its own. Long tests
// (*.long.test.ts, anywhere) have the same set-up; `npm test` leaves them out, `npm run test:all` includes them.
// Properties of the whole system (*.property.test.ts) are in both, with fewer runs in `npm test`.
const unit = ['{apps,packages}/**/src/**/*.test.ts', 'scripts/**/*.test.ts']
const system = ['test/src/**/*.test.ts']
const long = '**/*.long.test.ts'
const property = 'test/src/**/*.property.test.ts'
const globalSetup = ['test/src/environment/global-setup.ts']

// Compiled code is kept, as under npm scripts: tests start many processes.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/node-compile', import.meta.url))

export default defineConfig({
  test: {
    maxWorkers: 2,
    // Node loads the modules itself, as it does for the apps. Vite took a quarter of a short run.
    experimental: { viteModuleRunner: false },
    // The files of a worker share their loaded modules: loading and compiling them took a third of the CPU time. A file
    // undoes what it changes for all (mocks, fake timers, environment variables).
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A machine with other work takes longer than the default of a second to reach a state.
    expect: { poll: { timeout: 10_000 } },
    // One line per file, unless a test is so slow that somebody should look at it.
    slowTestThreshold: 5_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'unit', include: unit, exclude: ['**/node_modules/**', long] } },
      { extends: true, test: { name: 'system', include: system, exclude: [long], globalSetup } },
      {
        extends: true,
        test: {
          name: 'long',
          include: [long, property],
          exclude: ['**/node_modules/**'],
          env: { ALL_PROPERTY_RUNS: 'true' },
          globalSetup,
          // Twice the time that the slowest of them takes on a machine with other work.
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
