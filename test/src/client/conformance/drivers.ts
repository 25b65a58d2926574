import { join } from 'node:path'
import { nodeEnvironment } from '../../environment/program.ts'
import { python, pythonEnvironment } from '../python-program.ts'
import type { Driver } from './run-case.ts'

const file = (name: string) => join(import.meta.dirname, name)

/** The clients of this repository. */
export const drivers: Readonly<Record<'JavaScript' | 'Python', Driver>> = {
  JavaScript: { command: [process.execPath, file('driver.ts')], env: nodeEnvironment },
  Python: { command: [python, file('driver.py')], env: pythonEnvironment },
}
