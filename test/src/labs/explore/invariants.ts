import type { Page } from 'playwright-core'
import { phone, seriousViolations } from '../../dashboard/browser.ts'

/** Collects what a page must never do at any moment: script errors, failed requests, violations of the policy. */
export function watch(page: Page): string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`uncaught error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const isOfAnswer = message.text().startsWith('Failed to load resource: the server responded')
    if (message.type() === 'error' && !isOfAnswer) problems.push(`console error: ${message.text()}`)
  })
  page.on('response', (response) => {
    const [request, status] = [response.request(), response.status()]
    const isRefusedPart = status >= 400 && !request.isNavigationRequest() && request.method() === 'GET'
    if (status >= 500 || isRefusedPart) problems.push(`${status} for ${request.method()} ${response.url()}`)
  })
  page.on('crash', () => problems.push('the page crashed'))
  return problems
}

/** Returns a name that pages of the same form share, whatever their IDs and numbers. */
export async function shapeOf(page: Page): Promise<string> {
  const heading = await page.locator('h1').first().textContent({ timeout: 3_000 })
  const path = new URL(page.url()).pathname.replace(/[^/]*[\d%][^/]*|[^/]{30,}/g, ':x')
  return `${path} ${heading?.replace(/["“…]?[\w.-]*\d[\w.-]*|\S{30,}/g, '#')}`
}

/** Returns what is wrong with a page as it stands. `isNew` adds the slow checks, once for each form of page. */
export async function inspect(page: Page, isNew: boolean): Promise<string[]> {
  const problems = await page.locator(':root').evaluate((html): string[] => {
    const { ownerDocument: document } = html
    const words = /\b(undefined|NaN|null)\b|\[object \w+\]/
    const links = [...document.querySelectorAll('[href], [action]')]
    const addresses = links.map((link) => link.getAttribute('href') ?? link.getAttribute('action'))
    const texts: string[] = [document.title, document.body.innerText, ...addresses]
    const ways = [...document.querySelectorAll('nav a, main a:not(.help), main button')]
    const isWayOn = ways.some((way) => way.checkVisibility() && (way.form ?? way.origin === document.location.origin))
    return [
      ...texts.flatMap((text) => words.exec(text)?.[0] ?? []).map((word) => `the page shows ${word}`),
      ...(document.querySelector('[name=form_token][value=""]') ? [`a form without a token: ${document.title}`] : []),
      ...(isWayOn ? [] : [`dead end: ${document.title}`]),
    ]
  })
  const size = page.viewportSize() ?? phone
  if (isNew) await page.setViewportSize(phone)
  const wider = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  if (wider !== 0) problems.push(`${await shapeOf(page)} is ${wider} px too wide`)
  if (!isNew) return problems
  await page.setViewportSize(size)
  return [...problems, ...(await seriousViolations(page)).map((violation) => `axe: ${violation}`)]
}
