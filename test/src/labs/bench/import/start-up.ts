import assert from 'node:assert/strict'
import { until } from '../../../environment/wait.ts'
import { signal, stillRunning } from '../../../stack/processes.ts'
import { runningFor } from './cpu.ts'
import { type BenchEnvironment, openBenchEnvironment, templates } from './environment.ts'
import { shapesOf } from './file.ts'
import { watchImport } from './sluice.ts'
import { openStackSession } from './stack-session.ts'

/** Enough rows for some batches, so that the import is still running when its first batch is observed. */
const rows = 20_000

/** How long a worker takes until its first committed batch, ms. */
export interface StartUp {
  /** From the start of the worker's process, which finds the job waiting. */
  fromStart: number
  /** From the time at which that process claims the import. */
  fromClaim: number
}

/** Ends the worker of a running stack, enqueues an import, and observes the worker that the stack starts instead. */
export async function measureStartUp(rounds: number): Promise<StartUp[]> {
  await using environment = await openBenchEnvironment(rows)
  const measured: StartUp[] = []
  for (let round = 0; round < rounds; round++) measured.push(await startUp(environment))
  return measured
}

async function startUp({ postgres, home, file: make }: BenchEnvironment): Promise<StartUp> {
  const database = 'bench_start'
  await postgres.copyDatabase(templates.sluice, database)
  const session = await openStackSession(postgres, database, home)
  try {
    const file = await make(shapesOf(rows).first)
    await session.upload(file)
    const ended = await session.workerPid()
    assert(ended !== undefined, 'the stack has no worker')
    signal(ended, 'SIGTERM')
    await until('the end of the worker', async () => (await stillRunning([ended])).length === 0)
    const importId = await session.enqueue(file)
    const { firstCommitAt, claimedAt } = await watchImport(session.client, importId, file)
    const worker = await until('another worker', async () => {
      const pid = await session.workerPid()
      return pid !== ended && pid
    })
    const startedAt = Date.now() - (await runningFor(worker)) * 1000
    return { fromStart: firstCommitAt - startedAt, fromClaim: firstCommitAt - claimedAt }
  } finally {
    await session.close()
  }
}
