import { expect, inject, test } from 'vitest'
import { openBrowser } from '../../dashboard/browser.ts'
import { startExploredStack } from './explored-stack.ts'
import { exploration, walk } from './walk.ts'

// A sample of `npm run test:explore`.
test.skipIf(inject('chromium') === undefined)('no page fails a visitor who tries everything', async () => {
  const all = exploration(await openBrowser(), await startExploredStack())
  try {
    for (const role of ['member', 'operator'] as const) await walk(all, role, 1, 25)
    expect([...all.violations.values()]).toEqual([])
  } finally {
    await all.browser.close()
    await all.stack.stop()
  }
})
