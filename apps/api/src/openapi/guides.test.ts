import { expect, test } from 'vitest'
import { guideNames, llmsText, servedGuides } from './guides.ts'

const guideOf = servedGuides('https://api.test')
const textOf = (name: (typeof guideNames)[number], form: 'html' | 'markdown') => guideOf(name)[form].bytes.toString()

test.each(guideNames)('every link of the page "%s" leads to a page of the API and to a title on it', (name) => {
  const links = [...textOf(name, 'html').matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => href)
  expect(links.length).toBeGreaterThan(10)
  for (const link of links) {
    if (/^(?:https:|\.\.\/docs$|\w+\.md$)/.test(link)) continue
    const [page = '', anchor] = link.split('#')
    const target = guideNames.find((each) => each === (page === '' ? name : page))
    expect(target, link).toBeDefined()
    if (target !== undefined && anchor !== undefined) expect(textOf(target, 'html')).toContain(` id="${anchor}"`)
  }
})

test('the Markdown has the address of this API, and no link to what the API does not serve', () => {
  expect(textOf('api', 'markdown')).toContain('API=https://api.test\n')
  for (const name of guideNames) {
    const links = [...textOf(name, 'markdown').matchAll(/\]\(([^)]+)\)/g)].map(([, href = '']) => href)
    for (const link of links) expect(link).toMatch(/^(?:https?:|#|(?:api|guide)\.md)/)
  }
})

test('the text for programs leads to each document', () => {
  const addresses = [...llmsText('https://api.test').matchAll(/\]\(([^)]+)\)/g)].map(([, address]) => address)
  expect(addresses).toEqual([
    'https://api.test/docs/api.md',
    'https://api.test/docs/guide.md',
    'https://api.test/openapi.json',
  ])
})
