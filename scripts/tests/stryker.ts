import { defineConfig } from 'vitest/config'

// The configuration of vitest under `npm run test:stryker`, which runs the tests hundreds of times.
export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    // Stryker adds steps to the code, which the second of these counts.
    exclude: ['**/*.long.test.ts', '**/linear-time.test.ts'],
    setupFiles: ['scripts/tests/stryker-setup.ts'],
    experimental: { viteModuleRunner: false },
    isolate: false,
  },
})
