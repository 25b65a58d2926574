import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { settingsFor, thisMachine } from './machine-settings.ts'

const gibibyte = 2 ** 30

test.each([
  ['a small machine', 2, 10, '512MB', '1024MB'],
  ['a laptop', 16, 200, '4096MB', '8192MB'],
  ['a large server', 256, 4000, '4096MB', '8192MB'],
  ['a disk that is nearly full', 16, 1, '4096MB', '256MB'],
])('buffers and log of Postgres leave room for others on %s', (_, memory, freeDisk, sharedBuffers, maxWalSize) => {
  const settings = settingsFor({ memory: memory * gibibyte, freeDisk: freeDisk * gibibyte })
  expect(settings).toMatchObject({ shared_buffers: sharedBuffers, max_wal_size: maxWalSize })
})

test('Postgres never gets more than a quarter of the memory for its buffers', () => {
  fc.assert(
    fc.property(fc.integer({ min: 128, max: 2 ** 20 }), fc.nat(2 ** 20), (memoryMb, diskMb) => {
      const settings = settingsFor({ memory: memoryMb * 2 ** 20, freeDisk: diskMb * 2 ** 20 })
      expect(Number.parseInt(settings.shared_buffers ?? '', 10)).toBeLessThanOrEqual(memoryMb / 4)
    }),
  )
})

test('the machine has at most its own memory, and some free disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-machine-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { memory, freeDisk } = await thisMachine(folder)
  expect(memory).toBeGreaterThan(0)
  expect(memory).toBeLessThanOrEqual(totalmem())
  expect(freeDisk).toBeGreaterThan(0)
})
