import { expect, test } from 'vitest'
import { runbookAddress, runbookContent, runbookEntries } from './runbook.ts'

test('the runbook has each entry under its address, and links to nothing that the dashboard does not serve', () => {
  const { text } = runbookContent()
  expect(runbookEntries.length).toBeGreaterThan(10)
  for (const name of runbookEntries) {
    const [, anchor] = runbookAddress(name).split('#')
    expect(text).toContain(`<h2 id="${anchor}">${name}</h2>`)
    expect(text).toContain(`href="#${anchor}"`)
  }
  const addresses = [...text.matchAll(/href="([^"]*)"/g)].map(([, address]) => address)
  expect(addresses.filter((address) => address !== '/queues' && !address?.startsWith('#'))).toEqual([])
  expect(text).toContain('<code>/readyz</code>')
  expect(text).toContain('<pre tabindex="0"><code data-copy="command">select app_id, import_id')
})
