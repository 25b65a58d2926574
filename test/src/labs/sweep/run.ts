import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '@sluice/database'
import { openClientApp } from '../../faults/harness/client.ts'
import { compareWithModel } from '../../faults/harness/comparison.ts'
import { changesViolations, keepChanges } from './kept-changes.ts'
import { type Kind, type Point, PointCounter } from './points.ts'
import { type Decide, type ProcessUnderTest, startProcessUnderTest } from './process-under-test.ts'
import type { Scenario, Stage } from './scenario.ts'
import type { SweepServers } from './servers.ts'
import { leaseMs, letTimePass, openSystem, type SweepSystem } from './system.ts'

export interface Cut {
  key: string
  kind: Kind
}

/** The input of a run. `cuts` are the faults of the process under test and of its successors, in this order. */
export interface SweepRun {
  scenario: Scenario
  cuts: readonly Cut[]
}

export interface RunResult {
  /** The points of the first process, in the order in which it sent them. */
  points: readonly Point[]
  cuts: number
  violations: string[]
  /** The logs of all processes, if there is a violation. */
  log: string
  ms: number
}

/** How long a process must be quiet to count as idle, ms. */
const quietMs = 300

/** How long a process is frozen at least, ms: longer than its lease. */
const frozenMs = leaseMs + 500

/**
 * How long recovery may take, ms. A transaction of a frozen process is aborted after 10 s, and a lock of the queue ends
 * after 15 s.
 */
const recoveryTimeoutMs = 60_000

/** How long work without a cut may take before maintenance helps, ms. */
const undisturbedMs = 15_000

/** How long a run may take, ms. */
const runTimeoutMs = 120_000

/** Maintenance tasks that recovery of every scenario needs. A worker runs them every second. */
const recoveryTasks = ['notice-uploads', 'dispatch', 'report-cancelled']

/** Pause between two rounds of maintenance, ms: long enough for the process to become idle. */
const maintenancePauseMs = 2 * quietMs

/** Runs a scenario with its cuts, lets the system recover, and compares it with the model. */
export async function runScenario(servers: SweepServers, { scenario, cuts }: SweepRun): Promise<RunResult> {
  const began = performance.now()
  const system = await openSystem(servers)
  const run = new RunningScenario(servers, system, scenario, cuts)
  try {
    const tooLong = delay(runTimeoutMs, undefined, { ref: false }).then(() => {
      throw new Error(`no end after ${runTimeoutMs} ms, while it ${run.activity}`)
    })
    const violations = await Promise.race([run.toEnd(), tooLong]).catch((error: unknown) => [
      `the run failed: ${reasonOf(error)}`,
    ])
    const { points, cutsMade } = run
    const log = violations.length === 0 ? '' : run.log()
    return { points, cuts: cutsMade, violations, log, ms: Math.round(performance.now() - began) }
  } finally {
    await run.close()
    await system.close()
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`
}

/** One run, from the start of the first process to the verdict. */
class RunningScenario {
  cutsMade = 0
  /** What the run waits for, in words. */
  activity = 'opens the system'
  readonly #servers: SweepServers
  readonly #system: SweepSystem
  readonly #scenario: Scenario
  readonly #cuts: readonly Cut[]
  readonly #processes: ProcessUnderTest[] = []
  readonly #counters: PointCounter[] = []
  /** The process that runs now: not killed, and not frozen. */
  #current: Promise<ProcessUnderTest> | undefined
  /** Settles when a fault hits the current process. */
  #down = Promise.withResolvers<void>()
  /** Wakes the processes that are frozen. */
  readonly #wakes: (() => void)[] = []
  #step = 0
  /** Settles when maintenance has ended. Undefined as long as it has not begun. */
  #maintaining: Promise<void> | undefined
  #isOver = false

  constructor(servers: SweepServers, system: SweepSystem, scenario: Scenario, cuts: readonly Cut[]) {
    this.#servers = servers
    this.#system = system
    this.#scenario = scenario
    this.#cuts = cuts
  }

  get points(): readonly Point[] {
    return this.#counters[0]?.points ?? []
  }

  log(): string {
    return this.#processes.map((each) => each.log()).join('\n---\n')
  }

  async close(): Promise<void> {
    this.#isOver = true
    this.#down.resolve()
    for (const wake of this.#wakes) wake()
    await this.#current?.catch(() => {})
    await Promise.all(this.#processes.map((each) => each.close()))
    await this.#maintaining?.catch(() => {})
  }

  async toEnd(): Promise<string[]> {
    const [system, scenario] = [this.#system, this.#scenario]
    const app = await openClientApp(system)
    this.activity = 'prepares the scenario'
    if (scenario.keepsChanges) await keepChanges(system, app)
    await scenario.prepare?.({ system, app })
    this.activity = 'starts the process'
    const process = await this.#start(this.#cuts[0])
    this.activity = 'sets up the scenario'
    const stage: Stage = {
      system,
      app,
      maintain: (task) => this.#maintain(task),
      settle: () => this.#settle(stage),
    }
    for (const step of scenario.setup ?? []) await step(stage)
    if (scenario.setup !== undefined) await this.#settle(stage)
    process.arm()
    for (const step of scenario.steps) {
      this.activity = `waits for step ${this.#step}`
      await step(stage)
      this.#step++
    }
    this.activity = 'waits for the end of all work'
    await this.#settle(stage)
    this.activity = 'wakes frozen processes'
    await this.#wakeFrozen()
    await this.#settle(stage)
    this.activity = 'waits for maintenance'
    this.#isOver = true
    await this.#maintaining
    this.activity = 'compares the outcome with the model'
    const unexpected = this.#processes.filter((each) => each.hasExited()).length - this.#killed
    const comparison = await compareWithModel(system, [app], { timeoutMs: 10_000 })
    return [
      ...(unexpected > 0 ? [`${unexpected} processes ended by themselves`] : []),
      ...comparison.violations,
      ...(scenario.keepsChanges ? await changesViolations(system, app) : []),
      ...((await scenario.verify?.({ system, app })) ?? []),
    ]
  }

  /**
   * Starts a process, which is to be cut at `cut`, and waits until it is idle. Its messages count from the moment on at
   * which it is armed.
   */
  async #start(cut: Cut | undefined): Promise<ProcessUnderTest & { arm(): void }> {
    const counter = new PointCounter()
    this.#counters.push(counter)
    let isCut = false
    let armed: ProcessUnderTest | undefined
    const decide: Decide = (server, unit) => {
      const point = armed && counter.add(server, unit, this.#step)
      if (armed === undefined || point === undefined || point.key !== cut?.key || isCut) return { kind: 'forward' }
      isCut = true
      return this.#makeCut(armed, cut.kind)
    }
    const starting = startProcessUnderTest(this.#system, this.#servers.entry, this.#scenario.apps, decide)
    this.#current = starting.then(async (process) => {
      this.#processes.push(process)
      await process.untilQuiet(quietMs)
      return process
    })
    const process = await this.#current
    return {
      ...process,
      arm: () => {
        armed = process
      },
    }
  }

  /** Runs a maintenance task in the process that runs now. Ends early if a fault hits the process. */
  async #maintain(task: string): Promise<void> {
    const down = this.#down.promise
    const process = await this.#current
    await Promise.race([process?.run(task), down])
  }

  /** Runs maintenance until the run is over, as workers do by themselves. */
  async #keepMaintaining(): Promise<void> {
    while (!this.#isOver) {
      const process = await this.#current?.catch(() => undefined)
      await letTimePass(this.#system, (process?.quietFor() ?? 0) < quietMs)
      for (const task of [...recoveryTasks, ...(this.#scenario.tasks ?? [])]) await this.#maintain(task)
      await delay(maintenancePauseMs)
    }
  }

  #killed = 0

  #makeCut(process: ProcessUnderTest, kind: Kind): ReturnType<Decide> {
    this.cutsMade++
    this.#maintaining ??= this.#keepMaintaining()
    const replace = () => {
      this.#down.resolve()
      this.#down = Promise.withResolvers()
      this.#start(this.#cuts[this.cutsMade])
        .then((process) => process.arm())
        .catch(() => {})
    }
    switch (kind) {
      case 'killed':
        this.#killed++
        return {
          kind: 'withhold',
          meanwhile: async () => {
            process.kill('SIGKILL')
            await process.exited
            replace()
          },
        }
      case 'answer-lost':
        return { kind: 'lose answer', before: () => {}, after: async () => {} }
      case 'frozen': {
        const woken = Promise.withResolvers<void>()
        const since = performance.now()
        const before = () => {
          process.kill('SIGSTOP')
          replace()
        }
        this.#wakes.push(() => {
          woken.resolve()
          process.kill('SIGCONT')
        })
        this.#frozenSince = Math.max(this.#frozenSince, since)
        return { kind: 'lose answer', before, after: () => woken.promise }
      }
    }
  }

  #frozenSince = 0

  /** Wakes the frozen processes when their leases have expired, and waits until the processes are idle. */
  async #wakeFrozen(): Promise<void> {
    if (this.#wakes.length === 0) return
    await delay(Math.max(0, this.#frozenSince + frozenMs - performance.now()))
    for (const wake of this.#wakes.splice(0)) wake()
    await Promise.all(this.#processes.map((process) => process.untilQuiet(quietMs)))
  }

  /** Waits until all work has ended and the process is idle. Begins maintenance if the wait takes long. */
  async #settle(stage: Stage): Promise<void> {
    const began = performance.now()
    while (!(await this.#isSettled(stage))) {
      const waitedMs = performance.now() - began
      if (waitedMs > recoveryTimeoutMs) throw new Error(`work does not end: ${await this.#openWork()}`)
      if (waitedMs > undisturbedMs) this.#maintaining ??= this.#keepMaintaining()
      await delay(50)
    }
    await (await this.#current)?.untilQuiet(quietMs)
  }

  async #isSettled(stage: Stage): Promise<boolean> {
    const open = await this.#openWork([...stage.app.files.keys()])
    return open === '[]' && ((await this.#scenario.isSettled?.(stage)) ?? true)
  }

  /** Returns the imports and mails that have not ended, as JSON. A held import waits for a step of its scenario. */
  async #openWork(importIds?: readonly string[]): Promise<string> {
    const { rows } = await sql`
      select 'import' as what, import_id::text as id, state, tries, attempt, retry_at, lease_until from imports
      where (state not in ('completed', 'failed', 'cancelled', 'held') or report_due)
        and (state not in ('awaiting_upload', 'expired') or import_id::text = any(${importIds ?? []}::text[]))
      union all
      select 'mail', mail_id::text, state, attempt, 0, next_attempt_at, null from mails where state = 'waiting'
    `.execute(this.#system.db)
    return JSON.stringify(rows)
  }
}
