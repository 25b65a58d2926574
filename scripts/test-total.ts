import { summaryOf } from './tests/results.ts'

// Prints how many tests passed, failed and were skipped in the last npm test and the last npm run test:long together.
console.log(await summaryOf(['fast', 'long']))
