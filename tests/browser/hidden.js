// What a page cuts off: every box that clips words or formulas inside it, and nothing reveals them.
(paper) => {
  const SHOWN = "mjx-c, mjx-container svg path, mjx-container svg rect";
  const UNSEEN = "mjx-assistive-mml, .bindlib-figure__spoken, .visually-hidden, script, style, noscript, .headerlink, button";
  const OUT = 3; // pixels by which the ink of a formula may stand above or below the box of its letters
  const article = document.querySelector("article.bd-article") ?? document.createElement("article");

  const boxes = (node) => {
    // What a box inside this one scrolls is looked at there.
    const own = (part) => { const box = part.closest("[data-more='right']"); return paper || !box || !node.contains(box) || box === node; };
    const found = [...node.querySelectorAll(SHOWN)].filter(own).map((part) => part.getBoundingClientRect());
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, (text) =>
      text.data.trim() && own(text.parentElement) && !text.parentElement.closest(`${UNSEEN}, mjx-container`)
        ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
    const range = document.createRange();
    while (texts.nextNode()) {
      range.selectNodeContents(texts.currentNode);
      found.push(...range.getClientRects());
    }
    return found.filter((box) => box.width > 0 && box.height > 0);
  };

  // A telephone scrolls with a fading edge; on a wide page only code does.
  const revealed = (node) => {
    const style = getComputedStyle(node);
    return !paper && (innerWidth < 768 || node.closest("pre")) && /auto|scroll/.test(style.overflowX) &&
      node.tabIndex === 0 && node.dataset.more?.includes("right") && style.maskImage !== "none";
  };

  const clips = (node) => {
    const style = getComputedStyle(node);
    return node.getClientRects().length && (style.overflowX !== "visible" || style.overflowY !== "visible") &&
      (node.matches(".math, mjx-container") || node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
  };

  const say = (node, what) => `${what}: ${node.outerHTML.slice(0, 60)} ${node.textContent.trim().replace(/\s+/g, " ").slice(0, 100)}`;

  const cut = (node) => {
    const [edge, inside] = [node.getBoundingClientRect(), boxes(node)];
    const room = node.matches(".math, mjx-container") ? OUT : -1;
    const most = (of) => Math.max(-Infinity, ...inside.map(of));
    const right = most((box) => box.right - edge.right), left = most((box) => edge.left - box.left);
    const high = Math.max(most((box) => edge.top - box.top), most((box) => box.bottom - edge.bottom));
    if (left > 1) return [say(node, `${Math.round(left)} px lie where nothing scrolls to`)];
    if (right > 1 && !revealed(node)) return [say(node, `${Math.round(right)} px are hidden`)];
    return high > -room ? [say(node, "above or below too little room")] : [];
  };

  const around = [...article.querySelectorAll("*")].filter((node) => !node.closest(`${UNSEEN}, svg`) && clips(node)).flatMap(cut);
  const beyond = boxes(article).filter((box) => box.right > innerWidth + 1).map((box) => `${Math.round(box.right)} px on ${innerWidth}`);
  return paper ? [...around, ...beyond] : around;
}
