import type { ClientApp } from '../../faults/harness/client.ts'
import type { SweepSystem } from './system.ts'

export interface Prepared {
  system: SweepSystem
  app: ClientApp
}

export interface Stage extends Prepared {
  /** Runs a maintenance task in the process that runs now. Ends early if a fault hits the process. */
  maintain(task: string): Promise<void>
  /** Waits until all work has ended, as {@link Scenario.isSettled} and the tables tell. */
  settle(): Promise<void>
}

type Steps = readonly ((stage: Stage) => Promise<unknown>)[]

/** A sequence of steps through the service. The sweep interrupts it at each of its messages. */
export interface Scenario {
  name: string
  apps: readonly ('api' | 'worker' | 's3-gateway')[]
  /** The app's imports keep their changes. */
  keepsChanges?: true
  /** Maintenance tasks that recovery needs, besides those of every scenario. */
  tasks?: readonly string[]
  prepare?(stage: Prepared): Promise<void>
  /** What happens before the steps, in the process under test. Its messages are no points. */
  setup?: Steps
  /** What clients and timers do, one after the other. Each step repeats itself until it succeeds. */
  steps: Steps
  /** Whether work that the tables of imports and mails do not show has ended. Defaults to true. */
  isSettled?(stage: Prepared): Promise<boolean>
  /** Returns violations of what must hold at the end, besides the comparison with the model. */
  verify?(stage: Prepared): Promise<string[]>
}
