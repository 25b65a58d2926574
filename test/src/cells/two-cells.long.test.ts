import { expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, request, send, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { startCell } from './cell.ts'

test('two cells under one address: the database of one crashes, and the imports of the other end meanwhile', async () => {
  const second = await startCell(1)
  const first = await startCell(0, { env: { CELLS: `1=${second.api}` } })
  const secondByFirst = { ...second, api: first.api }
  const random = seeded(23)
  const [appOfFirst, appOfSecond] = [await openClientApp(first), await openClientApp(second)]
  expect([appOfFirst.appId, appOfSecond.appId]).toEqual([1, 1_000_001])
  await upload(first, appOfFirst, generateSoundFile(random, 0, 1_000))
  await upload(secondByFirst, appOfSecond, generateSoundFile(random, 0, 1_000))
  const file = generateSoundFile(random, 1, 1_000)
  const requested = await request(secondByFirst, appOfSecond, file)

  second.postgres.proxy.set({ kind: 'refuse' })
  await upload(first, appOfFirst, generateSoundFile(random, 1, 1_000))
  expect((await compareWithModel(first, [appOfFirst])).violations).toEqual([])
  // The storage of the second cell accepts the file while its database is down.
  await send(appOfSecond, requested, file)
  await second.postgres.restart('immediate')
  second.postgres.proxy.set({ kind: 'fine' })
  expect((await compareWithModel(second, [appOfSecond])).violations).toEqual([])
}, 180_000)
