import { expect, test } from 'vitest'
import { docsPage } from './docs-page.ts'
import { openApiDocument } from './document.ts'

test('the page contains no text of the document as HTML', () => {
  const hostile = `<script>alert('"&')</script>`
  const replaced = JSON.stringify(openApiDocument('http://api.test'), (key, value) => {
    const isText = typeof value === 'string' && !['operationId', '$ref'].includes(key)
    return isText && !['Profiles', 'Bulk import', 'Operation'].includes(value) ? hostile : value
  })
  const page = docsPage(JSON.parse(replaced))
  expect(page).toContain('&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;')
  expect(page.split('<script')).toHaveLength(2)
})

test('every link within the page has a target', () => {
  const page = docsPage(openApiDocument('http://api.test'))
  const targets = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id)
  expect(links.length).toBeGreaterThan(20)
  for (const link of links) expect(targets).toContain(link)
})
