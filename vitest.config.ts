import { defineConfig } from 'vitest/config'

// One project for pure logic, one for what needs real Postgres, storage or several processes.
export default defineConfig({
  test: {
    include: ['{apps,packages}/*/src/**/*.test.ts', 'test/src/**/*.test.ts', 'scripts/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
