import { defineConfig } from 'vitest/config'

// Unit tests stand beside the code and need nothing; system tests run on one Postgres and one storage that their
// global set-up starts, each in a database of its own.
export default defineConfig({
  test: {
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['{apps,packages}/*/src/**/*.test.ts', 'scripts/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/src/**/*.test.ts'],
          globalSetup: ['test/src/environment/global-setup.ts'],
        },
      },
    ],
  },
})
