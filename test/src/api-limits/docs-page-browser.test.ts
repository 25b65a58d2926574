import { contentSecurityPolicy } from '@sluice/api-app/src/openapi/docs-assets.ts'
import { docsPage } from '@sluice/api-app/src/openapi/docs-page.ts'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import { servedGuides } from '@sluice/api-app/src/openapi/guides.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, takePictures } from '../dashboard/browser.ts'

const guideOf = servedGuides('http://api.test')
const pages: Readonly<Record<string, string>> = {
  '/docs': docsPage(openApiDocument('http://api.test')),
  '/docs/api': guideOf('api').html.bytes.toString(),
  '/docs/guide': guideOf('guide').html.bytes.toString(),
}

describe.skipIf(inject('chromium') === undefined)('the page of the API document', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  /** Opens the page in a browser that reaches nothing else. `problems` collects script errors and policy violations. */
  async function openPage(options: { javaScriptEnabled?: boolean } = {}): Promise<{ page: Page; problems: string[] }> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    await page.route('**', (route) => {
      const body = pages[new URL(route.request().url()).pathname]
      if (body === undefined) return route.abort()
      const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': contentSecurityPolicy }
      return route.fulfill({ headers, body })
    })
    await page.goto('http://api.test/docs')
    return { page, problems }
  }

  test('finds a route by words of its text, shows it alone, and keeps the language of the examples', async () => {
    const { page, problems } = await openPage()
    const routes = page.getByRole('navigation').getByRole('listitem').filter({ visible: true })
    await page.getByRole('searchbox').fill('clear_marker announce')
    expect(await routes.allTextContents()).toEqual([expect.stringContaining('announce a file'), expect.anything()])
    await page.getByRole('searchbox').press('Enter')
    await page.getByRole('heading', { name: 'Bulk import, first request' }).waitFor()
    expect(await page.locator('section').filter({ visible: true }).count()).toBe(1)
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(8_000)

    await page.locator('summary', { hasText: 'Python' }).filter({ visible: true }).click()
    await page.getByText('urllib.request.urlopen').filter({ visible: true }).waitFor()
    await page.getByRole('searchbox').fill('')
    await page.getByRole('link', { name: 'GET One user' }).click()
    await page.getByText('urllib.request.urlopen').filter({ visible: true }).waitFor()
    expect(await page.getByText('curl -i').filter({ visible: true }).count()).toBe(0)
    await expectAccessible(page)
    await takePictures(page, 'api-document')
    expect(problems).toEqual([])
  })

  test('shows the members of bodies in a table, and finds a route by a member or its description', async () => {
    const { page, problems } = await openPage()
    const routes = page.getByRole('navigation').getByRole('listitem').filter({ visible: true })
    for (const words of ['changes_file_ends_before_row', 'laCKS first row with changes']) {
      await page.getByRole('searchbox').fill(words)
      expect(await routes.allTextContents(), words).toContainEqual(expect.stringContaining('State of an import'))
      expect(await routes.allTextContents(), words).not.toContainEqual(expect.stringContaining('One user'))
    }
    await page.goto('http://api.test/docs#requestBulkImport')
    const rows = page.getByRole('row').filter({ visible: true })
    const textOf = async (member: string) => await rows.filter({ hasText: member }).getByRole('cell').allTextContents()
    expect(await textOf('checksum')).toEqual([
      'checksum',
      'string (24 characters)',
      'yes',
      'MD5 digest of the file as sent, in base64.',
    ])
    expect(await textOf('hold_if.failed_percent')).toEqual(['hold_if.failed_percent', 'number (0 to 100)', 'no', ''])
    expect(await textOf('direct_upload.headers.Content-MD5')).toContain('string')
    await expectAccessible(page)
    await takePictures(page, 'api-document-members')
    expect(problems).toEqual([])
  })

  test('leads to the page about the use of the API, which can be read on any screen', async () => {
    const { page, problems } = await openPage()
    await page.getByRole('main').getByRole('link', { name: 'How to use the API' }).click()
    await page.getByRole('link', { name: 'Import a file in three requests' }).click()
    await page.getByRole('heading', { name: 'Import a file in three requests' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'api-guide')
    await page.getByRole('navigation').getByRole('link', { name: 'Guide', exact: true }).click()
    await page.getByRole('heading', { name: 'Files of spreadsheets' }).waitFor()
    await page.getByRole('link', { name: 'All routes' }).click()
    await page.getByRole('searchbox').waitFor()
    expect(problems).toEqual([])
  })

  test('works without scripts', async () => {
    const { page } = await openPage({ javaScriptEnabled: false })
    expect(await page.getByRole('searchbox').filter({ visible: true }).count()).toBe(0)
    await page.getByRole('link', { name: 'GET One user' }).click()
    await page.getByText('curl -i').filter({ visible: true }).waitFor()
    await page.getByRole('link', { name: 'Everything on one page' }).click()
    expect(await page.locator('section').filter({ visible: true }).count()).toBeGreaterThan(20)
  })
})
