import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encryptionKeysOf } from './encryption-key.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-key-'))
})
afterEach(() => rm(home, { recursive: true }))

test('the key is created once, and only its owner can read it', async () => {
  const made = await encryptionKeysOf(home, {})
  expect(await encryptionKeysOf(home, {})).toBe(made)
  expect(made).toMatch(/^[\w+/]{43}=$/)
  const { mode } = await stat(join(home, 'encryption-key'))
  expect(mode & 0o777).toBe(0o600)
  expect(await encryptionKeysOf(await mkdtemp(join(home, 'other-')), {})).not.toBe(made)
})

test('keys in the environment take precedence, and no key is created', async () => {
  expect(await encryptionKeysOf(home, { ENCRYPTION_KEYS: 'given' })).toBe('given')
  expect(await readdir(home)).toEqual([])
})
