import { describe, expect, test } from 'vitest'
import { checkRequest } from './check.ts'
import { importRequest } from './import-request.ts'

const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='
const valid = { checksum, byte_size: '12' }

describe('the first request of an import', () => {
  test('text/csv is the default type, and the size may be a string or a number', () => {
    const request = { checksum, byte_size: 12, content_type: 'text/csv', dry_run: false, profile_types: {} }
    expect(checkRequest(importRequest, valid)).toEqual({ value: request })
    expect(checkRequest(importRequest, { checksum, byte_size: 12 })).toEqual({ value: request })
  })

  test('the size may reach the limit of its type', () => {
    for (const [content_type, byte_size] of [
      ['text/csv', 1_073_741_824],
      ['application/gzip', 104_857_600],
    ]) {
      const request = { ...valid, content_type, byte_size }
      expect(checkRequest(importRequest, request)).toMatchObject({ value: { content_type, byte_size } })
    }
  })

  test('only true requests a dry run', () => {
    expect(checkRequest(importRequest, { ...valid, dry_run: true })).toMatchObject({ value: { dry_run: true } })
    const refused = { messages: ['Validation failed: dry_run must be true or false'] }
    expect(checkRequest(importRequest, { ...valid, dry_run: false })).toMatchObject({ value: { dry_run: false } })
    for (const dry_run of ['true', 1, {}]) expect(checkRequest(importRequest, { ...valid, dry_run })).toEqual(refused)
  })

  test.each([
    ['a checksum that is not base64', { ...valid, checksum: '*' }, 'Validation failed: Checksum is invalid'],
    [
      'a checksum in hex',
      { ...valid, checksum: '5eb63bbbe01eeed093cb22bb8f5acdc3' },
      'Validation failed: Checksum is invalid',
    ],
    ['a checksum of another length', { ...valid, checksum: 'AAAA' }, 'Validation failed: Checksum is invalid'],
    [
      'a checksum with unused bits set',
      { ...valid, checksum: 'XrY7u+Ae7tCTyyK7j1rNwx==' },
      'Validation failed: Checksum is invalid',
    ],
    ['a checksum that is not a string', { ...valid, checksum: 7 }, 'Validation failed: Checksum is invalid'],
    ['no checksum', { byte_size: '1' }, 'param is missing or the value is empty: checksum'],
    ['no size', { checksum }, 'param is missing or the value is empty: byte_size'],
    ['an empty size', { checksum, byte_size: '' }, 'param is missing or the value is empty: byte_size'],
    ['a size of zero', { ...valid, byte_size: '0' }, 'Validation failed: byte_size must be a positive integer'],
    ['a negative size', { ...valid, byte_size: '-1' }, 'Validation failed: byte_size must be a positive integer'],
    ['a fraction', { ...valid, byte_size: 1.5 }, 'Validation failed: byte_size must be a positive integer'],
    [
      'a size of 16 digits',
      { ...valid, byte_size: '0000000000000001' },
      'Validation failed: byte_size must be a positive integer',
    ],
    ['a size with a sign', { ...valid, byte_size: '+1' }, 'Validation failed: byte_size must be a positive integer'],
    ['a size with a unit', { ...valid, byte_size: '1 B' }, 'Validation failed: byte_size must be a positive integer'],
    ['an array', { ...valid, byte_size: ['1'] }, 'Validation failed: byte_size must be a positive integer'],
    [
      'an unknown type',
      { ...valid, content_type: 'text/plain' },
      'Validation failed: content_type must be text/csv or application/gzip',
    ],
    [
      'a CSV over 1 GB',
      { ...valid, byte_size: '1073741825' },
      'Validation failed: byte_size is over the limit of 1073741824 bytes for text/csv',
    ],
    [
      'a gzip file over 100 MB',
      { ...valid, byte_size: '104857601', content_type: 'application/gzip' },
      'Validation failed: byte_size is over the limit of 104857600 bytes for application/gzip',
    ],
    ['a body that is not an object', ['x'], 'The request body must be a JSON object.'],
    ['no body', undefined, 'The request body must be a JSON object.'],
  ])('refuses %s', (_, body, message) => {
    expect(checkRequest(importRequest, body)).toEqual({ messages: [message] })
  })

  test('names every invalid field', () => {
    expect(checkRequest(importRequest, { checksum: 'x', content_type: 'x' })).toEqual({
      messages: [
        'Validation failed: Checksum is invalid',
        'param is missing or the value is empty: byte_size',
        'Validation failed: content_type must be text/csv or application/gzip',
      ],
    })
  })
})
