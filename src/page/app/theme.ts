// Loaded before anything is painted, so that a page of the other theme does not flash. It stands alone for that.
try {
  const chosen = localStorage.getItem('forumd.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
} catch {
  // A browser that remembers nothing goes by its system's theme.
}
