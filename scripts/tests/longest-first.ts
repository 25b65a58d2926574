import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { root } from '../modules.ts'
import { readLastTimes } from './times.ts'

/** The projects in the order in which they run. Unit tests are the shortest, so both cores are busy to the end. */
const order = ['long', 'system', 'unit']

/**
 * Runs the files of a project together, because Vitest replaces a worker, with all its loaded modules, if the next file
 * belongs to another project. Within a project, the files that took longest here run first, so that none runs alone at
 * the end. Without times of an earlier run, large files run first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readLastTimes()
    const seconds = ({ moduleId }: TestSpecification) =>
      times[relative(root, moduleId)] ?? statSync(moduleId).size / 1_000
    const place = ({ project }: TestSpecification) => order.indexOf(project.name)
    return files.toSorted((one, other) => place(one) - place(other) || seconds(other) - seconds(one))
  }
}
