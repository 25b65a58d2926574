import { type ErrorAnswer, errors } from '@sluice/contract'
import { expect, test } from 'vitest'
import { ApiError, apiError } from './errors.ts'

/**
 * The only error without a JSON body, which bulk import v2 answers. The client calls only v3, and never gets this
 * error.
 */
const withoutJson = 'unsupportedFileType'

/** Every error of the API's catalogue, made with arguments that fit all its functions. */
const catalogue = Object.entries(errors)
  .filter(([name]) => name !== withoutJson)
  .map(([name, make]) => {
    const list = ['unregisteredKeys', 'disabledKeys', 'unavailable'].includes(name) ? ['a'] : 1
    return [name, (make as (...args: unknown[]) => ErrorAnswer)(list, 1)] as const
  })

// service.md, Errors.
test.each(catalogue)('the documented error %s has a class of its own', (_, { status, body }) => {
  const { code, messages } = body.error
  const error = apiError({ status, code, messages, retryAfterMs: undefined, requestId: undefined })
  expect(error).toBeInstanceOf(ApiError)
  expect(error.constructor).not.toBe(ApiError)
  expect(error).toMatchObject({ status, code, messages, name: error.constructor.name })
})

test('an undocumented status is an ApiError, so that no caller has to parse a message', () => {
  const error = apiError({ status: 418, code: undefined, messages: [], retryAfterMs: undefined, requestId: 'r' })
  expect(error).toMatchObject({ name: 'ApiError', message: 'the API answered (418)', requestId: 'r' })
})

test('only failures that may pass are repeated', () => {
  const isTransient = (status: number, retryAfterMs?: number) =>
    apiError({ status, code: undefined, messages: [], retryAfterMs, requestId: undefined }).isTransient
  expect([408, 429, 500, 502, 503, 504].map((status) => isTransient(status))).not.toContain(false)
  expect([400, 401, 403, 404, 409, 410, 413, 415, 422, 431].map((status) => isTransient(status))).not.toContain(true)
  expect(isTransient(409, 1000)).toBe(true)
})
