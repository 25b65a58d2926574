import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node'
import { addLastTimes, longestFirst } from './times.ts'

/** Number of slowest files that are listed at the end of a run. */
const slowest = 10

/**
 * Prints each finished file with its number among all files, and the slowest files at the end. Stores the time of each
 * file.
 */
export default class ProgressReporter extends DefaultReporter {
  private files = 0
  private finished = 0

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.files = specifications.length
    this.finished = 0
    super.onTestRunStart(specifications)
  }

  protected override printTestModule(module: TestModule): void {
    this.finished++
    super.printTestModule(module)
  }

  protected override getEntityPrefix(entity: Parameters<DefaultReporter['getEntityPrefix']>[0]): string {
    const prefix = super.getEntityPrefix(entity)
    if (entity.type !== 'module') return prefix
    return `${String(this.finished).padStart(String(this.files).length)} of ${this.files} ${prefix}`
  }

  override onTestRunEnd(...run: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...run)
    const [modules] = run
    const times = Object.fromEntries(modules.map((module) => [module.relativeModuleId, secondsOf(module)]))
    addLastTimes(times)
    if (modules.length <= slowest) return
    this.log(`The ${slowest} slowest of ${modules.length} files:`)
    for (const [path, seconds] of longestFirst(times).slice(0, slowest)) {
      this.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
    }
  }
}

/** Returns the time of a file with its imports, hooks and tests, seconds. */
function secondsOf(module: TestModule): number {
  const { duration, collectDuration, prepareDuration, environmentSetupDuration, setupDuration } = module.diagnostic()
  return (duration + collectDuration + prepareDuration + environmentSetupDuration + setupDuration) / 1000
}
