// @ts-check
/** The words of images that were made, and of their large view. */

/** In English; the tables of other languages have these, too. */
export const IMAGE_WORDS = {
  images: "Images",
  imageMade: "Image made by the agent",
  imageGone: "This image can't be shown.",
  imagePlace: "{number} of {count}",
  openImage: "Open the image: {name}",
  saveImage: "Save the image",
  imageUnsaved: "The image can't be saved now.",
  previousImage: "Previous image",
  nextImage: "Next image",
};
