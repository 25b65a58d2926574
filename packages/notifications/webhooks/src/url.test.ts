import { readSettings } from '@sluice/config'
import { expect, test } from 'vitest'
import { openAddressRule } from './addresses.ts'
import { checkUrl } from './url.ts'

const networksOf = (text: string) =>
  readSettings({ WEBHOOK_ALLOW_NETWORKS: text }, ['WEBHOOK_ALLOW_NETWORKS']).WEBHOOK_ALLOW_NETWORKS

const strict = { allowsHttp: false, isAllowed: openAddressRule() }
const loose = { allowsHttp: true, isAllowed: openAddressRule(networksOf('127.0.0.0/8')) }

// second-day.md §5, URLs.
test.each([
  ['https://example.com/hook?a=b', 'https://example.com/hook?a=b'],
  ['https://EXAMPLE.com:8443', 'https://example.com:8443/'],
  ['https://example.com/hook#fragment', 'https://example.com/hook'],
  ['https://8.8.8.8/', 'https://8.8.8.8/'],
])('%s is accepted', (text, url) => {
  expect(checkUrl(text, strict)).toEqual({ url })
})

test.each([
  ['http://example.com/', 'WEBHOOK_ALLOW_HTTP'],
  ['ftp://example.com/', 'must begin with https://'],
  ['https://user@example.com/', 'no user and no password'],
  ['https://user:word@example.com/', 'no user and no password'],
  ['https://', 'not valid'],
  ['example.com', 'not valid'],
  [`https://example.com/${'a'.repeat(2_048)}`, 'at most 2048 characters'],
  ['https://127.0.0.1/', 'not public'],
  ['https://2130706433/', 'not public'],
  ['https://0x7f.1/', 'not public'],
  ['https://0177.0.0.1/', 'not public'],
  ['https://[::1]/', 'not public'],
  ['https://[::ffff:169.254.169.254]/', 'not public'],
  ['https://localhost/', 'not public'],
  ['https://a.localhost./', 'not public'],
  ['https://.localhost/', 'not public'],
  ['https://１２７.０.０.１/', 'not public'],
])('%s is refused: %s', (text, problem) => {
  expect(checkUrl(text, strict)).toEqual({ problem: expect.stringContaining(problem) })
})

test.each(['http://127.0.0.1:8080/', 'http://localhost:8080/', 'https://[::ffff:127.0.0.1]/'])(
  '%s is accepted if the settings allow http and its network',
  (text) => {
    expect(checkUrl(text, loose)).toHaveProperty('url')
  },
)
