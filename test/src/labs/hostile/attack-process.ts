// Runs one attack of `npm run test:hostile` on its own stack. The argument is the attack's title.
import { attacks } from './attacks/index.ts'
import { runAlone } from './run.ts'

const attack = attacks.find(({ title }) => title === process.argv[2])
if (attack === undefined) throw new Error(`there is no attack ${process.argv[2]}`)
const outcome = await runAlone(attack)
process.send?.(outcome, () => process.exit(0))
