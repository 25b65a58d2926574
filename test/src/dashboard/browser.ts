import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'
import { signInAddress } from './sign-in-address.ts'
import type { TestDashboard } from './test-dashboard.ts'

/** Git-ignored folder for screenshots. */
const pictures = fileURLToPath(new URL('../../screenshots', import.meta.url))

/** The size of a phone's window, CSS pixels. */
export const phone = { width: 390, height: 844 }

/** Starts Chromium without a window. Suites that use it must be skipped if `inject('chromium')` is undefined. */
export async function openBrowser(executablePath = inject('chromium')): Promise<Browser> {
  if (executablePath === undefined) throw new Error('there is no Chromium: skip the suite')
  // Chromium's sandbox needs rights that root in a container lacks. These tests open only Sluice's own pages.
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

/**
 * Opens a browser context without cookies and without animations, which would make screenshots and colour checks flaky.
 */
export async function openContext(
  browser: Browser,
  { url }: { url: string },
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const viewport = { width: 1280, height: 800 }
  return await browser.newContext({ baseURL: url, viewport, reducedMotion: 'reduce', ...options })
}

/**
 * Opens a browser window in which a member or an operator is signed in. `problems` collects script errors and
 * violations of the security policy.
 */
export async function openWindow(
  browser: Browser,
  dashboard: TestDashboard,
  email: string,
): Promise<{ page: Page; context: BrowserContext; problems: string[] }> {
  const context = await openContext(browser, dashboard)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(await signInAddress(dashboard, email))
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
  return { page, context, problems }
}

/** Saves screenshots in both themes and on a phone: `<name>-light.png`, `-dark.png`, `-phone.png`. */
export async function takePictures(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true })
  const size = page.viewportSize()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`), fullPage: true })
  }
  await page.setViewportSize(phone)
  await page.screenshot({ path: join(pictures, `${name}-phone.png`), fullPage: true })
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  expect(overflow, `${name} is wider than a phone, px`).toBe(0)
  const unmarked = await page.evaluate(`[...document.querySelectorAll('.scroll:has(> table)')].filter((table) => {
    const isMarked = getComputedStyle(table, '::before').display === 'block'
    return isMarked !== table.scrollWidth > table.clientWidth
  }).length`)
  expect(unmarked, `tables of ${name} that hide columns and do not say so, or the reverse`).toBe(0)
  if (size !== null) await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme: null })
}

interface Violation {
  id: string
  impact: string
  nodes: { html: string }[]
}

/** Expects that axe-core finds no serious problem on the page in either theme. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await seriousViolations(page), `${page.url()} (${colorScheme})`).toEqual([])
  }
  await page.emulateMedia({ colorScheme: null })
}

/** Returns the serious problems that axe-core finds on the page, each with its elements. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate<Violation[]>('axe.run().then((result) => result.violations)')
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
