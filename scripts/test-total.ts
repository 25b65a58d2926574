import { failuresOf, summaryOf } from './tests/results.ts'

// Prints which tests failed in the last npm test and the last npm run test:long, and how many passed, failed and were
// skipped in both together.
for (const failure of await failuresOf(['fast', 'long'])) console.log(failure)
console.log(await summaryOf(['fast', 'long']))
