import { expect, test } from 'vitest'
import { readHttpUnits } from './http.ts'
import { readPostgresUnits } from './postgres.ts'
import { readRedisUnits } from './redis.ts'
import { readSmtpUnits } from './smtp.ts'
import type { UnitReader } from './unit.ts'

/** Returns the labels of the units of some bytes that arrive in pieces of `size` bytes, and the bytes of all units. */
function readInPieces(reader: UnitReader, bytes: Buffer, size: number) {
  const units = []
  for (let at = 0; at < bytes.length; at += size) units.push(...reader.push(bytes.subarray(at, at + size)))
  return { labels: units.map(({ label }) => label), bytes: Buffer.concat(units.map((unit) => unit.bytes)) }
}

function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const size = Buffer.alloc(4)
  size.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), size, body])
}

const statement = (text: string) => [
  message('P', '\0', text, '\0\0\0'),
  message('B', '\0\0', Buffer.from([0, 0, 0, 0, 0, 0])),
  message('E', '\0', Buffer.alloc(4)),
]

const sync = message('S')

test.each([1, 7, 4096])('Postgres: each Sync ends a unit, in pieces of %i bytes', (size) => {
  const sent = Buffer.concat([
    message('', Buffer.from('user\0sluice\0\0')),
    ...statement('select 1'),
    sync,
    ...statement('/* progress */ update "imports" set x = 12'),
    ...statement('commit'),
    sync,
    message('Q', 'delete from mails\0'),
  ])
  const { labels, bytes } = readInPieces(readPostgresUnits(), sent, size)
  expect(labels).toEqual([undefined, undefined, 'update "imports" set x = *; commit', 'delete from mails'])
  expect(bytes.equals(sent)).toBe(true)
})

test.each([1, 7, 4096])('SMTP: each command is a unit, and so is the message, in pieces of %i bytes', (size) => {
  const sent = Buffer.from('EHLO a\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\nSubject: c\r\n\r\nQUIT\r\n.\r\nQUIT\r\n')
  const { labels, bytes } = readInPieces(readSmtpUnits(), sent, size)
  expect(labels).toEqual(['EHLO', 'MAIL FROM', 'RCPT TO', 'DATA', 'the message', 'QUIT'])
  expect(bytes.equals(sent)).toBe(true)
})

test.each([1, 7, 4096])('HTTP: head and body are a unit each, in pieces of %i bytes', (size) => {
  const sent = Buffer.from(
    'GET /b/k HTTP/1.1\r\nHost: a\r\n\r\nPUT /b/7?x-id=PutObject HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc' +
      'POST /b/c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nDELETE /b/k HTTP/1.1\r\n\r\n',
  )
  const { labels, bytes } = readInPieces(readHttpUnits(), sent, size)
  expect(labels).toEqual([
    undefined,
    'PUT /b/*',
    'PUT /b/*, its body',
    'POST /b/c',
    'POST /b/c, its body',
    'DELETE /b/k',
  ])
  expect(bytes.equals(sent)).toBe(true)
})

test.each([1, 7, 4096])('Redis: each command is a unit, in pieces of %i bytes', (size) => {
  const command = (...words: string[]) =>
    `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
  const sent = Buffer.from(
    command('GET', 'a') + command('SET', 'a1', '\r\n') + command('EVALSHA', 'f', '1', 'key', '2'),
  )
  const { labels, bytes } = readInPieces(readRedisUnits(), sent, size)
  expect(labels).toEqual([undefined, 'set a*', 'script of 1 keys: key key'])
  expect(bytes.equals(sent)).toBe(true)
})
