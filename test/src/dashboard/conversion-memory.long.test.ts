import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { limits } from '@sluice/contract'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ownMemory } from '../memory/peak-memory.ts'
import { openBrowser, openWindow } from './browser.ts'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'

const row = Buffer.from('user-123456;M\xfcller;Stra\xdfe 12;1.234,50;31.12.1990;"x; ""y""";1,5;abc\r\n', 'latin1')
const header = 'user_id;name;street;amount;born;note;n;s\r\n'
const rows = Math.floor((limits.uploadBytesDashboard - header.length) / row.length)

/** Writes a file that is as large as the page accepts. */
async function writeLargeFile(path: string): Promise<void> {
  const block = Buffer.concat(Array.from({ length: 1_000 }, () => row))
  async function* content() {
    yield Buffer.from(header)
    for (let left = rows; left > 0; left -= 1_000) yield block.subarray(0, Math.min(left, 1_000) * row.length)
  }
  await pipeline(Readable.from(content()), createWriteStream(path))
}

/** Returns the own memory of the largest tab, MiB. */
async function tabMemory(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const tabs = processInfo.filter(({ type }) => type === 'renderer')
  const sizes = await Promise.all(tabs.map(({ id }) => ownMemory(id)))
  return Math.max(0, ...sizes) / 2 ** 20
}

describe.skipIf(inject('chromium') === undefined || process.platform !== 'linux')('in a browser', () => {
  let dashboard: TestDashboard
  let browser: Browser
  let folder: string
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    browser = await openBrowser()
    folder = await mkdtemp(join(tmpdir(), 'sluice-conversion-'))
  })
  afterAll(async () => {
    await browser?.close()
    await dashboard.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('a file of 150 MB is converted and sent within 200 MB of memory of the tab', { timeout: 300_000 }, async () => {
    const path = join(folder, 'large.csv')
    await writeLargeFile(path)
    const { appId, email } = await openAppWith(dashboard, [])
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    await page.getByLabel(/A CSV file/).setInputFiles(path)
    await page.getByRole('heading', { name: 'large.csv' }).waitFor({ timeout: 60_000 })
    // A column less, so that the converted file is within the limit too.
    await page.getByRole('checkbox', { name: 'Import street' }).uncheck()
    await page.getByRole('combobox', { name: 'Values of amount' }).selectOption('decimal-comma')
    await page.getByRole('combobox', { name: 'Values of born' }).selectOption('day-first')
    let peak = 0
    let isSent = false
    const watching = (async () => {
      while (!isSent) peak = Math.max(peak, await tabMemory(browser))
    })()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Converting the file', { exact: true }).waitFor()
    await page.getByText(/^[1-9]\d? %$/).waitFor()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/, { timeout: 240_000 })
    isSent = true
    await watching
    expect(peak).toBeLessThan(200)
    expect(problems).toEqual([])
    await context.close()
  })
})
