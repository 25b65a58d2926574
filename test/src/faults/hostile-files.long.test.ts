import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { startDeployment } from './harness/deployment.ts'
import { hostileFiles, runHostileFile } from './harness/hostile-files.ts'

// A bounded form of `npm run test:soak`, which has lines and bombs of 1 GB.
const files = hostileFiles(64 * 2 ** 20)

/** Limit for a worker's resident memory, bytes. Rows of a million cells need nearly this much. */
const memoryLimitBytes = 500e6

const deployment = openBeforeAll(() => startDeployment({ workers: 1, env: { BATCH_ROWS: '5000' } }))

// On a busy machine, 66 MB of rows with errors take more than a minute.
const options = { timeout: 240_000 }

test.for(files)(
  '$name: the import ends as specified with a mail and bounded memory, and the next import runs',
  options,
  async (file) => {
    const { peakMemory, tookMs, mail, messages, ...end } = await runHostileFile(deployment, file)
    console.log(`${file.name}: a worker's peak is ${Math.round(peakMemory / 1e6)} MB; ended after ${tookMs} ms`)
    const { error, ...expected } = file.expected
    expect(end).toMatchObject(expected)
    expect(end.error).toEqual(error === null ? null : expect.stringContaining(error))
    if (file.messages !== undefined) expect(messages).toEqual(file.messages)
    expect(mail).toContain(error ?? `Rows with errors: ${end.rows_failed.toLocaleString('en-US')}`)
    expect(peakMemory).toBeLessThan(memoryLimitBytes)
  },
)
