import { readSettings, sharedStore } from '@sluice/config'
import { connect } from '@sluice/database'
import { openMailer } from '@sluice/mail'
import { openQueues } from '@sluice/queue'
import { openMetrics } from '@sluice/service'
import { openStorage } from '@sluice/storage'
import { pino } from 'pino'
import { maintenanceTasks } from '../../../../../apps/worker/src/maintenance-tasks.ts'
import { openWorkerMetrics } from '../../../../../apps/worker/src/metrics.ts'
import { workerSettings } from '../../../../../apps/worker/src/settings.ts'
import { moveTask } from './move-task.ts'

/** Asks the process under test for one run of a maintenance task. */
export interface TaskRequest {
  task: string
  /** Distinguishes the requests to one process. */
  number: number
}

/** Answers a {@link TaskRequest}. `error` is set if the task failed. */
export interface TaskAnswer {
  type: 'task ended'
  /** The number of the request. */
  number: number
  error?: string
}

/** Runs maintenance tasks, one at a time, whenever the parent process asks for one. */
export function runTasks(): void {
  const settings = readSettings(process.env, workerSettings)
  const log = pino({ name: 'maintenance' }, process.stdout)
  const onError = (error: Error) => log.warn({ err: error }, 'connection or job error')
  const { db } = connect(settings.DATABASE_URL, { connections: 4, onError })
  const context = { db, storage: openStorage(settings), settings, log }
  const host = {
    context: { ...context, shutdown: new AbortController().signal },
    queues: openQueues(sharedStore(settings), onError),
    mailer: openMailer(db, settings),
    deliverer: undefined,
    onJobError: onError,
    metrics: openWorkerMetrics(openMetrics()),
    heartbeat: {
      untilMaintenanceHost: async () => {},
      during: <Result>(_: string, work: () => Promise<Result>) => work(),
      stop: async () => {},
    },
  }
  let running = Promise.resolve()
  process.on('message', ({ task, number }: TaskRequest) => {
    running = running.then(async () => {
      const answer: TaskAnswer = { type: 'task ended', number }
      try {
        const found = [...maintenanceTasks, moveTask].find(({ name }) => name === task)
        if (found === undefined) throw new Error(`there is no task ${task}`)
        await found.run(host)
      } catch (error) {
        log.warn({ err: error, task }, 'task failed')
        answer.error = String(error)
      }
      process.send?.(answer)
    })
  })
}
